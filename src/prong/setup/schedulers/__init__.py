"""What runs programs at intervals: systemd, launchd, cron."""
