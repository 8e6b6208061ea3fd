"""What the tests start the steps with."""

LIMITS = {"minimum_rows": 100, "minimum_class_share": 0.5, "maximum_repeated_share": 0.05}
SHARES = {"validation_share": 0.15, "test_share": 0.15, "seed": 1}
