"""The policy pack: rules that judge what any Pulumi program registers; imports nothing else of this project."""
