"""The numbers of the arena: lengths in sub (1200 to a unit), times in ticks (15 to a second), hit points in 1/100, energy in 1/15."""

from __future__ import annotations

UNIT_LENGTH = 1200
"""sub in one unit of length."""
TICKS = 15
"""Ticks in one second."""

CRATES = 6
SHOT_SLOTS = 2
"""Shots of a seat that can fly at once: twelve sweeps, and eight ticks between two shots."""
MINE_SLOTS = 2

ARENA_RADIUS = (15274, 18706, 21600, 24150, 26454, 28574, 30547)
"""9 sqrt(players) units, for 2 to 8 players."""
WALL_PERCENT = 115
SPAWN_PERCENT, SPAWN_JITTER, ANGLE_JITTER = 75, 10, 24
CRATE_PERCENT, FINAL_PERCENT = 80, 35
"""Of the arena's radius: the disc in which crates stand at the start, the distance of the final zone centre."""

FULL_HP, FULL_ENERGY, FULL_AMMUNITION, START_AMMUNITION = 10_000, 1_500, 30, 20
ENERGY_GAIN = 8

BODY, VISION, REACH = 720, 14_400, 1_800
"""Radius of a body, range of sight, reach to a crate."""
WALK, WALK_WINDING, WALK_SHIELDED, DASH_STEP = 400, 200, 160, 1_500
"""sub per tick."""

SHOT_STEP, SHOT_LIFE, SHOT_DAMAGE = 1_600, 12, 800
NOVA_RANGE, NOVA_DAMAGE, NOVA_PUSH = 3_840, 4_000, 2_400
MINE_RANGE, MINE_DAMAGE, MINE_LIFE = 1_920, 1_500, 300
PARRY_STUN, MINE_STUN = 22, 12

SHIELD_TIME, WINDUP_TIME, DASH_TIME, CHANNEL_TIME = 12, 6, 4, 16
FIRE, DASH, SHIELD, NOVA, MINE = 0, 1, 2, 3, 4
"""Columns of `cooldown`; from 1 on also the values of the ability head."""
COOLDOWN = (8, 22, 24, 24, 44)
"""Ticks until ready again."""
COST = (0, 375, 300, 525, 300)
"""Energy."""

HEALTH, SUPPLY = 0, 1
"""Kind of a crate: its index modulo 2."""
CRATE_HP, CRATE_AMMUNITION, CRATE_ENERGY, CRATE_ABSENCE = 2_500, 10, 600, 180

ZONE_STILL, ZONE_SHRINK, LAST_TICK = 225, 975, 1_350
ZONE_DAMAGE, ZONE_DAMAGE_GROWTH = 13, 67
SMALLEST_CRATE_DISC = 2_400
TICKS_PER_DECISION = 2
LONGEST_GAME = LAST_TICK // TICKS_PER_DECISION
"""Decisions."""
