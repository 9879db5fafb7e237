"""Adapters from result files to fact models, one module per family of workloads. They read and derive, never judge."""
