"""What the audit log says about past calls: replays them against other settings, and suggests tighter guards."""
