"""Environments of Gymnasium, PettingZoo and Stable-Baselines3 as games of Ludory: `gymnasium:CartPole-v1`, `pettingzoo:connect_four_v3`, or an object."""
