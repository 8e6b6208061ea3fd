"""What runs on the platform: Ray clusters and all else that is built from the charts' custom resources."""
