"""Workflows: where they run, as whom, and where what they leave lies."""

NAMESPACE = "ml-pipelines"
"""The namespace of workflows, and of the Ray clusters that they start."""
WORKFLOW_ACCOUNT = "argo-workflow"
"""The service account of workflows that name no other, which Argo's chart makes."""
ARTIFACTS = NAMESPACE
"""Prefix of artifacts and logs in their bucket, with which the chart file's keyFormat begins."""
