"""`make up`: the whole of trainui on one machine, under one supervisor. Imports no Django; `manage.py` commands do what needs it."""
