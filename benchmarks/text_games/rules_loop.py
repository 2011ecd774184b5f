"""Template: steps of many games with the rules alone, bound to a game by `ludory.envs.engine.binding.bind`."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

from ludory.envs.engine.binding.kernel_placeholders import reset, step
from ludory.envs.kernels import batch_kernel


@batch_kernel
def play_rows(state, actions, start, stop):
    """Play actions [steps, n] in the games [start, stop); a finished game is started again and gives up its turn for that."""
    for t in range(actions.shape[0]):
        for i in range(start, stop):
            if state.terminated[i] or state.truncated[i]:
                reset(state, i)
            else:
                step(state, i, actions[t, i])
