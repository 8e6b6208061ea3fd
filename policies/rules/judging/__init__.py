"""What the rules share: reading properties, recognising accelerators and keys, turning a check into a policy."""
