"""The service run for real on this machine: databases, certificates, processes, faults and load."""
