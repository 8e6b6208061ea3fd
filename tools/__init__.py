"""Chores around the program: one folder or file each."""
