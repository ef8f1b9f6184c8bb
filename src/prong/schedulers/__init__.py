"""What runs programs at intervals: systemd, launchd, cron. Adapters: none of them knows another."""
