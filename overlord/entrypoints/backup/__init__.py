"""Backups: all that an Overlord cannot get again, in one file; and a home made from one."""
