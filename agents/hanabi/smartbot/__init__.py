"""SmartBot: rules, hints, what it keeps in mind and what it concludes from a move."""
