"""What may stand in a stack file: the models of every section, and how mistakes are told.

`settings.py` is the only user: it reads the config and hands out these models.
"""
