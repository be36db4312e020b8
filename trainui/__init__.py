"""The Django project of trainui and what its apps share."""
