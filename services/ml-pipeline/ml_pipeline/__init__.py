"""The steps of a training pipeline on tabular data. `ml-pipeline --help` lists them; the README tells the rest."""
