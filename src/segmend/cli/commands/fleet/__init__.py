"""`segmend fleet`."""

HELP = "audit the disks of many brokers: tables, a report, and what replicas say of each other"
