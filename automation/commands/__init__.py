"""The commands of `eksai`, one module per group. They import what they drive when they run, so that help is instant."""
