"""Account pages: each view checks the right, calls one service, and renders."""
