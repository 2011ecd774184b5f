"""Who sits where: the table that asks each seat's agent, and the seats that a policy or its opponents hold."""
