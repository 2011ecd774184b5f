"""What Ludory itself provides: a literal table that imports nothing. `registry.py` adds the entries of plugins."""

from .entry import Entry

_HANABI = "ludory.envs.hanabi:make_game"
_FULL = {"colors": 5, "ranks": 5, "max_information_tokens": 8, "max_life_tokens": 3}
_SMALL = {"colors": 2, "ranks": 5, "hand_size": 2, "max_information_tokens": 3, "max_life_tokens": 1}
_VERY_SMALL = _SMALL | {"colors": 1}
_TEXAS_42 = "ludory.envs.texas42:make_"
_POKEMON = "ludory.envs.pokemon:make_game"
_ARENA = "ludory.envs.arena:make_game"
_CLASSIC = "ludory.envs.classic:make_"
_SOKOBAN = "ludory.envs.sokoban:make_game"
_HANABI_BOTS = "ludory.agents.hanabi.bots.agents:make_"
_TEXAS_42_AGENTS = "ludory.agents.texas42."
_POKEMON_BOTS = "ludory.agents.pokemon.bots:"
_FROZEN_LAKE = "ludory.envs.frozen_lake:make_game"
_SUDOKU = "ludory.envs.sudoku:make_game"
_STYLE = "ludory.agents.arena.bots:make_style"
_HANABI_GAMES, _SOKOBAN_GAMES, _FROZEN_LAKES = "ludory.envs.hanabi", "ludory.envs.sokoban", "ludory.envs.frozen_lake"
_ARENA_GAMES, _POKEMON_GAMES = "ludory.envs.arena", "ludory.envs.pokemon"
_TINY = {"colors": 2, "ranks": 2, "hand_size": 2, "max_information_tokens": 8, "max_life_tokens": 3}


def _pretrained(id: str, summary: str, needs: str = "") -> Entry:
    return Entry(id, "ludory.agents.pretrained.agent:make", summary, {"agent": id}, needs=needs)


def _algorithm(id: str, learner: str, config: str, summary: str, extras: tuple[str, ...] = ()) -> Entry:
    return Entry(id, f"ludory.algorithms.{learner}", summary, extras=extras, options=f"ludory.algorithms.{config}")


def _benchmark(id: str, module: str, summary: str) -> Entry:
    return Entry(id, f"ludory.benchmarks.{module}:run", summary)


GAMES = (
    Entry("Hanabi2P-v0", _HANABI, "Hanabi for 2: five colours, five ranks", _FULL | {"players": 2, "hand_size": 5}),
    Entry("Hanabi3P-v0", _HANABI, "Hanabi for 3", _FULL | {"players": 3, "hand_size": 5}),
    Entry("Hanabi4P-v0", _HANABI, "Hanabi for 4", _FULL | {"players": 4, "hand_size": 4}),
    Entry("Hanabi5P-v0", _HANABI, "Hanabi for 5", _FULL | {"players": 5, "hand_size": 4}),
    Entry("HanabiSmall2P-v0", _HANABI, "Hanabi for 2 with two colours, one life", _SMALL | {"players": 2}),
    Entry("HanabiSmall3P-v0", _HANABI, "Hanabi for 3 with two colours, one life", _SMALL | {"players": 3}),
    Entry("HanabiSmall4P-v0", _HANABI, "Hanabi for 4 with two colours, one life", _SMALL | {"players": 4}),
    Entry("HanabiSmall5P-v0", _HANABI, "Hanabi for 5 with two colours, one life", _SMALL | {"players": 5}),
    Entry("HanabiVerySmall2P-v0", _HANABI, "Hanabi for 2 with one colour, one life", _VERY_SMALL | {"players": 2}),
    Entry("HanabiVerySmall3P-v0", _HANABI, "Hanabi for 3 with one colour, one life", _VERY_SMALL | {"players": 3}),
    Entry("HanabiVerySmall4P-v0", _HANABI, "Hanabi for 4 with one colour, one life", _VERY_SMALL | {"players": 4}),
    Entry("HanabiVerySmall5P-v0", _HANABI, "Hanabi for 5 with one colour, one life", _VERY_SMALL | {"players": 5}),
    Entry("HanabiTiny2P-v0", _HANABI, "Hanabi for 2 with two colours, two ranks", _TINY | {"players": 2}),
    Entry("Hanabi-v0", _HANABI, "Hanabi with every number by keyword: players, colors, ranks, hand_size, ..."),
    Entry("Arena2P-v0", _ARENA, "Arena for 2: a duel in a shrinking zone, all move at once", {"players": 2}),
    Entry("Arena3P-v0", _ARENA, "Arena for 3: the last one standing wins", {"players": 3}),
    Entry("Arena4P-v0", _ARENA, "Arena for 4: the last one standing wins", {"players": 4}),
    Entry("Arena5P-v0", _ARENA, "Arena for 5: the last one standing wins", {"players": 5}),
    Entry("Arena6P-v0", _ARENA, "Arena for 6: the last one standing wins", {"players": 6}),
    Entry("Arena7P-v0", _ARENA, "Arena for 7: the last one standing wins", {"players": 7}),
    Entry("Arena8P-v0", _ARENA, "Arena for 8: the last one standing wins", {"players": 8}),
    Entry("Arena-v0", _ARENA, "Arena with every option by keyword: players, observation, heads, ..."),
    Entry(
        "PokemonGen1RandomBattle-v0", _POKEMON, "Pokémon: random teams of generation 1", {"format": "gen1randombattle"}
    ),
    Entry(
        "PokemonGen3RandomBattle-v0", _POKEMON, "Pokémon: random teams of generation 3", {"format": "gen3randombattle"}
    ),
    Entry(
        "PokemonGen4RandomBattle-v0", _POKEMON, "Pokémon: random teams of generation 4", {"format": "gen4randombattle"}
    ),
    Entry(
        "PokemonGen9RandomBattle-v0", _POKEMON, "Pokémon: random teams of generation 9", {"format": "gen9randombattle"}
    ),
    Entry(
        "PokemonGen9BattleFactory-v0",
        _POKEMON,
        "Pokémon: competitive sets of generation 9, with team preview",
        {"format": "gen9battlefactory"},
    ),
    Entry("PokemonGen1OU-v0", _POKEMON, "Pokémon: teams of your own (teams=), generation 1", {"format": "gen1ou"}),
    Entry("PokemonGen9OU-v0", _POKEMON, "Pokémon: teams of your own (teams=), generation 9", {"format": "gen9ou"}),
    Entry("Pokemon-v0", _POKEMON, "Pokémon battles with every option by keyword: format, teams, gimmick, ..."),
    Entry(
        "FrozenLakeRagen1-v0",
        _FROZEN_LAKE,
        "FrozenLake 4x4 with a success rate of 1/3, as Gymnasium's slippery one",
        {"size": 4, "p": 0.8, "success_rate": 1 / 3},
    ),
    Entry(
        "FrozenLakeRagen2-v0",
        _FROZEN_LAKE,
        "FrozenLake 4x4 with few holes and a success rate of 0.8",
        {"size": 4, "p": 0.9, "success_rate": 0.8},
    ),
    Entry(
        "FrozenLakeFirm-v0",
        _FROZEN_LAKE,
        "FrozenLake 4x4 on firm ice: a success rate of 1",
        {"size": 4, "p": 0.8, "success_rate": 1.0},
    ),
    Entry("FrozenLake6-v0", _FROZEN_LAKE, "FrozenLake 6x6 on firm ice", {"size": 6, "p": 0.8, "success_rate": 1.0}),
    Entry("FrozenLakeAny-v0", _FROZEN_LAKE, "FrozenLake with every number by keyword: size, p, success_rate, ..."),
    Entry("Sudoku4-v0", _SUDOKU, "Sudoku 4x4 with six blanks", {"size": 4}),
    Entry("Sudoku9-v0", _SUDOKU, "Sudoku 9x9 with 32 blanks", {"size": 9}),
    Entry("TicTacToe-v0", f"{_CLASSIC}tic_tac_toe", "tic-tac-toe: three in a row"),
    Entry("ConnectFour-v0", f"{_CLASSIC}connect_four", "Connect Four: stones fall, four in a row win"),
    Entry("Go9-v0", f"{_CLASSIC}go", "Go on 9 x 9 points: surround area, capture stones", {"size": 9}),
    Entry("KuhnPoker-v0", f"{_CLASSIC}kuhn_poker", "Kuhn poker: three cards, one bet"),
    Entry("LeducPoker-v0", f"{_CLASSIC}leduc_poker", "Leduc poker: six cards, two rounds of bets"),
    Entry("Texas42-v0", f"{_TEXAS_42}hand", "Texas 42: one hand with auction and declaration"),
    Entry("Texas42Match-v0", f"{_TEXAS_42}match", "Texas 42: hands until a team has seven marks"),
    Entry("Texas42Play-v0", f"{_TEXAS_42}play", "Texas 42: the seven tricks of a fixed contract"),
    Entry("Sokoban-v0", _SOKOBAN, "Sokoban: one box, 6x6", {"preset": "simple"}),
    Entry("Sokoban2Boxes-v0", _SOKOBAN, "Sokoban: two boxes, 6x6", {"preset": "two_boxes"}),
    Entry("SokobanMedium-v0", _SOKOBAN, "Sokoban: two boxes, 8x8", {"preset": "medium"}),
    Entry("SokobanLarge-v0", _SOKOBAN, "Sokoban: two boxes, 10x10", {"preset": "large"}),
    Entry("SokobanGym-v0", _SOKOBAN, "Sokoban: four boxes, 10x10, nine actions as in gym-sokoban", {"preset": "gym"}),
    Entry("Boxoban-v0", _SOKOBAN, "Sokoban: Boxoban levels, four boxes, 10x10 (levels=)", {"preset": "boxoban"}),
    Entry(
        "gymnasium:",
        "ludory.envs.adapters.gymnasium_game:make_game",
        "any environment of Gymnasium: gymnasium:CartPole-v1, gymnasium:my_module:MyEnv",
    ),
    Entry(
        "pettingzoo:",
        "ludory.envs.adapters.pettingzoo_game:make_game",
        "any environment of PettingZoo: pettingzoo:connect_four_v3, pettingzoo:my_module:env",
    ),
)

AGENTS = (
    Entry("random", "ludory.agents.random:make", "uniform over legal moves (seed=)"),
    Entry(
        "mcts",
        "ludory.agents.search.mcts:make",
        "tree search with random rollouts where nothing is hidden (simulations=)",
    ),
    Entry(
        "az",
        "ludory.agents.search.az:make",
        "tree search with a network where nothing is hidden, as in az(connect_four/ppo, simulations=200)",
    ),
    Entry("human", "ludory.agents.human:make", "a person at this terminal"),
    Entry(
        "language",
        "ludory.agents.language.agent:make",
        "a language model that reads the game as text: language(PATH, prompt_mode=...), or behind an address: language(http://.../v1, model=...)",
    ),
    Entry("mixture", "ludory.agents.mixture:make", "one of several agents in every game: mixture(a, b)"),
    Entry("hanabi/iggi", f"{_HANABI_BOTS}iggi", "Hanabi rule bot: IGGI"),
    Entry("hanabi/piers", f"{_HANABI_BOTS}piers", "Hanabi rule bot: Piers"),
    _pretrained("hanabi/ppo", "Hanabi for 2: a network trained by PPO", _HANABI_GAMES),
    _pretrained("hanabi/ppo_long", "Hanabi for 2: hanabi/ppo after more training", _HANABI_GAMES),
    _pretrained("hanabi3/ppo", "Hanabi for 3: a network trained by PPO", _HANABI_GAMES),
    _pretrained("hanabi4/ppo", "Hanabi for 4: a network trained by PPO", _HANABI_GAMES),
    _pretrained("hanabi5/ppo", "Hanabi for 5: a network trained by PPO", _HANABI_GAMES),
    _pretrained("hanabi_tiny/ppo", "tiny Hanabi for 2: a network trained by PPO", _HANABI_GAMES),
    Entry("hanabi/smartbot", f"{_HANABI_BOTS}smartbot", "Hanabi rule bot: conventions and memory"),
    Entry("sparta", "ludory.agents.search.sparta:make", "search over a rule bot, as in sparta(hanabi/smartbot)"),
    Entry("hanabi/cheatbot", f"{_HANABI_BOTS}cheatbot", "Hanabi ceiling: sees its own hand"),
    Entry("arena/random", "ludory.agents.arena.bots:make_random", "arena style: uniform over legal moves (seed=)"),
    Entry("arena/rusher", _STYLE, "arena style: runs at the nearest rival and bursts", {"style": "rusher"}),
    Entry("arena/sniper", _STYLE, "arena style: keeps its distance and shoots", {"style": "sniper"}),
    Entry("arena/turtle", _STYLE, "arena style: parries, then strikes", {"style": "turtle"}),
    Entry("arena/looter", _STYLE, "arena style: lives on crates", {"style": "looter"}),
    Entry("arena/miner", _STYLE, "arena style: gives way, leaves mines", {"style": "miner"}),
    Entry("arena/zone", _STYLE, "arena style: holds the middle", {"style": "zone"}),
    Entry("arena/duelist", _STYLE, "arena style: shoots, and steps out of the way of shots", {"style": "duelist"}),
    Entry("arena/raider", _STYLE, "arena style: bursts and runs away, again and again", {"style": "raider"}),
    _pretrained("arena/league", "duels in the arena: the main of a league of 100 M steps", _ARENA_GAMES),
    _pretrained("arena/ppo", "duels in the arena: self-play by PPO, 100 M steps", _ARENA_GAMES),
    _pretrained(
        "connect_four/az", "Connect Four: a tree search with a network that learnt from such searches (simulations=)"
    ),
    _pretrained("connect_four/ppo", "Connect Four: a network trained by self-play"),
    _pretrained("tic_tac_toe/ppo", "tic-tac-toe: a network trained by self-play"),
    _pretrained("kuhn/cfr", "Kuhn poker: an equilibrium, as a table"),
    _pretrained("leduc/cfr", "Leduc poker: an equilibrium, as a table"),
    Entry(
        "texas42/oracle",
        "ludory.agents.texas42.play.network:make",
        "Texas 42: a network that learnt the values of open hands, averaged over worlds",
        {"agent": "texas42/oracle"},
    ),
    Entry(
        "texas42/pimc",
        "ludory.agents.texas42.play.pimc:PimcAgent",
        "Texas 42: best on average over worlds solved exactly",
    ),
    Entry(
        "texas42/response",
        "ludory.agents.texas42.play.response:ResponseAgent",
        "Texas 42: best where all play on with hidden hands",
    ),
    Entry(
        "texas42/best",
        "ludory.agents.texas42.best:make",
        "Texas 42: texas42/response with more worlds and a prior, which also bids",
    ),
    Entry(
        "texas42/quick",
        f"{_TEXAS_42_AGENTS}play.fast_policy:make",
        "Texas 42: a small network that learnt by self-play (sample=, seed=)",
    ),
    Entry("texas42/bid30", "ludory.agents.texas42.bots:Bidding", "Texas 42: always bids 30; another agent plays"),
    Entry(
        "texas42/bidder",
        "ludory.agents.texas42.bidding.bidder:BidderAgent",
        "Texas 42: bids what its hand makes; another agent plays",
    ),
    Entry(
        "texas42/seat", "ludory.agents.texas42.bots:SplitAgent", "Texas 42: one agent bids, another plays (bid=, play=)"
    ),
    Entry(
        "sokoban/solver",
        "ludory.agents.puzzles.solvers:SokobanSolver",
        "Sokoban: plans with the fewest pushes, and among those the fewest actions (max_states=)",
    ),
    _pretrained("sokoban/ppo", "Sokoban with one box: a network trained by PPO", _SOKOBAN_GAMES),
    Entry(
        "frozen_lake/optimum",
        "ludory.agents.puzzles.solvers:LakeOptimum",
        "FrozenLake optimum: exact value iteration over the actions left (horizon=)",
    ),
    _pretrained("frozen_lake/ppo", "FrozenLake on firm ice: a network trained by PPO", _FROZEN_LAKES),
    Entry("sudoku/solver", "ludory.agents.puzzles.solvers:SudokuSolver", "Sudoku: fills the solution"),
    Entry("pokemon/random", f"{_POKEMON_BOTS}RandomBot", "Pokémon: uniform over legal actions (gimmick_rate=, seed=)"),
    Entry("pokemon/max-base-power", f"{_POKEMON_BOTS}MaxBasePowerBot", "Pokémon: the move of largest base power"),
    Entry(
        "pokemon/simple-heuristics",
        f"{_POKEMON_BOTS}SimpleHeuristicsBot",
        "Pokémon: match-ups, hazards and estimated damage, as poke-env's player (sets_up=, terastallizes=)",
    ),
    Entry("pokemon/greedy-damage", f"{_POKEMON_BOTS}GreedyDamageBot", "Pokémon: always the most damage by type chart"),
    _pretrained("pokemon/gen1-ppo", "Pokémon, random battles of generation 1: self-play by PPO", _POKEMON_GAMES),
    _pretrained("pokemon/gen9-ppo", "Pokémon, random battles of generation 9: self-play by PPO", _POKEMON_GAMES),
    Entry("pokemon/search", "ludory.agents.pokemon.search:PokemonSearch", "Pokémon: a network that looks ahead"),
    Entry(
        "pokemon/poke-env",
        f"{_POKEMON_BOTS}PokeEnvAgent",
        "Pokémon: a player of poke-env on backend='server', as in pokemon/poke-env(SimpleHeuristicsPlayer)",
    ),
    Entry("texas42/seer", "ludory.agents.texas42.bots:SeerAgent", "Texas 42 ceiling: sees all hands, plays exactly"),
)

_NETWORKS = "ludory.agents.networks.policies."
_TEXAS_42_NETWORKS = f"{_TEXAS_42_AGENTS}networks."
_POKEMON_NETWORKS = "ludory.agents.pokemon.networks."

NETWORKS = (
    Entry("mlp", f"{_NETWORKS}mlp:MlpPolicy", "hidden layers; the default"),
    Entry("conv", f"{_NETWORKS}conv:ConvPolicy", "residual convolutions over planes; the default of az"),
    Entry("gru", f"{_NETWORKS}gru:GruPolicy", "hidden layers and a memory"),
    Entry("residual", f"{_NETWORKS}residual:ResidualPolicy", "residual blocks"),
    Entry("transformer", f"{_NETWORKS}transformer:TransformerPolicy", "attention over the segments of an observation"),
    Entry(
        "hanabi_gru",
        "ludory.agents.hanabi.networks.hanabi_gru:HanabiGruPolicy",
        "Hanabi: a memory, told the seat and the last moves",
    ),
    Entry(
        "domino", f"{_TEXAS_42_NETWORKS}domino:DominoTransformer", "Texas 42: attention over tiles; for texas42_oracle"
    ),
    Entry(
        "domino_mlp",
        f"{_TEXAS_42_NETWORKS}domino_mlp:DominoMlp",
        "Texas 42: hidden layers over which tile follows and beats which; for texas42_oracle",
    ),
    Entry(
        "transcript",
        f"{_TEXAS_42_NETWORKS}transcript:TranscriptTransformer",
        "Texas 42: attention over what a seat has seen",
    ),
    Entry(
        "pokemon/entity",
        f"{_POKEMON_NETWORKS}pointer:EntityPolicy",
        "Pokémon: one encoder for all twelve, pointer scores",
    ),
    Entry(
        "pokemon/entity-transformer",
        f"{_POKEMON_NETWORKS}pointer:EntityTransformerPolicy",
        "Pokémon: attention over Pokémon, moves and field, pointer scores",
    ),
    Entry("pokemon/mlp", f"{_POKEMON_NETWORKS}mlp:FlatMlpPolicy", "Pokémon: hidden layers over flat"),
    Entry("pokemon/seed-mlp", f"{_POKEMON_NETWORKS}mlp:SeedMlpPolicy", "Pokémon: residual blocks over seed41"),
)

_SUPERVISED = ("lightning",)
"""The extra that has all libraries of supervised learners."""
ALGORITHMS = (
    _algorithm("bc-v1", "bc:BC", "bc.config:BCConfig", "behaviour cloning of recorded games", _SUPERVISED),
    _algorithm(
        "distill-v1",
        "distill:Distill",
        "distill.config:DistillConfig",
        "a network that learns what a search found",
        _SUPERVISED,
    ),
    _algorithm(
        "texas42_oracle-v1",
        "texas42.oracle:Texas42Oracle",
        "texas42.oracle.config:Texas42OracleConfig",
        "Texas 42 networks from exact values",
        _SUPERVISED,
    ),
    _algorithm(
        "texas42_student-v1",
        "texas42.student:Texas42Student",
        "texas42.student.config:Texas42StudentConfig",
        "Texas 42 networks from E[Q] records",
        _SUPERVISED,
    ),
    _algorithm(
        "cfr-v1", "cfr:CFR", "cfr_config:CFRConfig", "counterfactual regret minimisation: tables for small games"
    ),
    _algorithm(
        "az-v1",
        "az:AZ",
        "az_config:AZConfig",
        "AlphaZero: a network learns from its own tree search (two seats, nothing hidden)",
    ),
    _algorithm("ppo-v1", "ppo:PPO", "ppo.config:PPOConfig", "proximal policy optimisation with legal masks"),
    _algorithm("obl-v1", "ppo.obl:OBL", "ppo.config:OBLConfig", "off-belief learning, for partners never met"),
    _algorithm(
        "vtrace-v1", "vtrace:VTrace", "vtrace.config:VTraceConfig", "V-trace, TD(lambda) and UPGO on replayed sequences"
    ),
    _algorithm(
        "league-v1",
        "league.algorithm:LeagueLearner",
        "league.config:LeagueRules",
        "several players that learn at once, each against the others",
    ),
    _algorithm(
        "flywheel-v1",
        "flywheel.algorithm:FlywheelLearner",
        "flywheel.config:FlywheelOptions",
        "search, learn from it, promote what is better, again and again",
        extras=("lightning",),
    ),
    _algorithm(
        "world-model-v1",
        "world_model.world_model:WorldModel",
        "world_model.config:WorldModelConfig",
        "language models: fine-tuning on the states of games, then PPO",
        extras=("lightning",),
    ),
    _algorithm(
        "text-ppo-v1",
        "text_ppo.text_ppo:TextPPO",
        "text_ppo.config:TextPPOConfig",
        "PPO and GRPO for language models over tokens",
    ),
    _algorithm(
        "sb3_ppo-v1",
        "sb3_ppo:SB3PPO",
        "sb3_ppo.config:SB3PPOConfig",
        "PPO and MaskablePPO of Stable-Baselines3, the originals",
    ),
)

BENCHMARKS = (
    _benchmark("baselines", "baselines", "scores of players that need no training, for the manual"),
    _benchmark("arena", "arena.speed", "duels per second: engine, scripts, sampler, evaluation"),
    _benchmark("arena-clones", "arena.clones", "clones of the arena's styles against the styles"),
    _benchmark("arena-league", "arena.league", "leagues of duels beside plain self-play"),
    _benchmark("coordinator", "throughput.coordinator", "the coordinator of a league under 10,000 simulated workers"),
    _benchmark("traffic", "throughput.traffic", "what samplers on other machines send, and what saturates first"),
    _benchmark("ray-overhead", "throughput.ray_overhead", "what Ray costs beside one process at equal cores"),
    _benchmark("texas42-network", "texas42.network", "a Texas 42 network trained on exact values"),
    _benchmark("faults", "faults.campaign", "kills, damaged files, full disks: what is lost, and how it is told"),
    _benchmark("own-envs", "throughput.own_envs", "steps per second of Gymnasium environments beside SubprocVecEnv"),
    _benchmark("exploitability", "learning.exploitability", "how exploitable learners are, over time"),
    _benchmark("pokemon", "pokemon.speed", "Pokémon: turns per CPU second beside the bare simulator"),
    _benchmark("pokemon-labels", "pokemon.labels", "Pokémon: labels of logs beside the choices made"),
    _benchmark("pokemon-soak", "pokemon.soak", "Pokémon: memory, processes and files over many battles"),
    _benchmark("pokemon-strength", "pokemon.strength", "Pokémon: battles between the scripted opponents"),
    _benchmark("text-env", "text_games.text_env", "text games: turns per second without a model"),
    _benchmark("gpu", "gpu.campaign", "everything that one GPU gives, compared with the CPU first"),
    _benchmark("cores", "throughput.cores", "engines and training: what a second core gives"),
    _benchmark("sokoban", "text_games.sokoban", "Sokoban: rules, observations, texts and rooms on a core, and peers"),
    _benchmark("pretrained", "pretrained", "trains the agents that ship with Ludory, and writes their cards"),
    _benchmark("web", "web_server", "the browser's server: start, clicks, many tables, memory"),
    _benchmark("start-up", "throughput.start_up", "seconds to the first step: cold, another preset, warm"),
    _benchmark("throughput", "throughput.throughput", "steps per second beside other engines"),
    _benchmark("hanabi-bc", "hanabi.bc", "a clone of a Hanabi bot beside the bot"),
    _benchmark("hanabi-stream", "hanabi.stream", "a clone of a Hanabi bot from games played meanwhile"),
    _benchmark("hanabi-ppo", "hanabi.ppo", "a Hanabi agent trained for a given time, and its score"),
    _benchmark("hanabi-distill", "hanabi.distill", "what a search teaches a network, round by round"),
    _benchmark("hanabi-search", "hanabi.search", "search over a Hanabi bot, on the same decks"),
    _benchmark("hanabi-cross-play", "hanabi.cross_play", "every pair of Hanabi agents, on the same decks"),
    _benchmark("hanabi-ablation", "hanabi.ablation", "clones of a Hanabi bot without parts of the observation"),
    _benchmark("hanabi-belief", "hanabi.belief", "whether beliefs about hands come true as often as said"),
    _benchmark("learner", "learning.learner_speed", "targets and steps of a learner, beside other libraries'"),
    _benchmark("learning", "learning.learning", "learning curves of algorithms, over several seeds"),
    _benchmark("tuned", "learning.tuned", "tuned settings: trainings over several seeds beside their baselines"),
    _benchmark("pokemon-bc", "pokemon.clone", "a clone of a scripted Pokémon player beside the player"),
    _benchmark("pokemon-ppo", "pokemon.self_play", "PPO from a clone, by self-play or against a player"),
    _benchmark("sokoban-ppo", "text_games.sokoban_ppo", "PPO on Sokoban from planes, scored in unseen rooms"),
    _benchmark("spa-tiny", "text_games.spa_tiny", "world-model fine-tuning before PPO, with a small model"),
    _benchmark("text-trl", "text_games.text_trl", "GRPO over tokens beside TRL's: speed and rewards"),
    _benchmark("texas42-bidding", "texas42.bidding", "Texas 42: P(make) against played contracts"),
    _benchmark("texas42-speed", "texas42.speed", "Texas 42: engine, solver, worlds and players on a core"),
    _benchmark("texas42-strength", "texas42.strength", "Texas 42: the same contracts played by two players"),
)

COMMANDS = (
    Entry("list", "ludory.cli.list", "show games, agents, algorithms, benchmarks and commands"),
    Entry("play", "ludory.cli.games.play", "play a game at this terminal"),
    Entry("watch", "ludory.cli.games.watch", "watch agents play, here or as one HTML file"),
    Entry("analyse", "ludory.cli.games.analyse", "what the moves of a recorded game were worth"),
    Entry("serve", "ludory.cli.games.serve", "play, watch and analyse in a browser, and follow runs"),
    Entry("record", "ludory.cli.data.record", "let agents play and keep every decision in files to learn from"),
    Entry("convert", "ludory.cli.data.convert", "other formats of recorded games to ludory's, and back"),
    Entry("train", "ludory.cli.train.train", "train an agent and keep it in a file"),
    Entry("sweep", "ludory.cli.train.sweep", "search for settings of an algorithm that learn a game well"),
    Entry("plot", "ludory.cli.train.plot", "learning curves of trainings, as SVG, PNG or a page"),
    Entry("eval", "ludory.cli.eval", "scores of agents with each other, with intervals"),
    Entry("bench", "ludory.cli.bench", "run a benchmark"),
    Entry("check", "ludory.cli.check", "prove that a game keeps the contract"),
    Entry("league", "ludory.cli.league.command", "how far a league of `train league` is, and reports on it"),
    Entry("flywheel", "ludory.cli.train.flywheel", "search, learn from it, promote what is better, again and again"),
    Entry("storage", "ludory.cli.data.storage", "copies of runs and recordings in stores such as S3"),
    Entry("hub", "ludory.cli.hub", "agents and recorded games on the Hugging Face hub"),
    Entry("cluster", "ludory.cli.cluster", "machines of a Ray cluster, on which jobs run with --ray"),
    Entry("hanabi", "ludory.cli.hanabi", "jobs that only Hanabi has"),
    Entry("pokemon", "ludory.cli.pokemon.command", "install the simulator of Pokémon battles; replays as data"),
    Entry("spa", "ludory.cli.spa.command", "language models: fine-tune on the states of games, then PPO"),
    Entry("sokoban", "ludory.cli.sokoban.command", "jobs that only Sokoban has: banks of rooms"),
    Entry("texas42", "ludory.cli.texas42.command", "jobs that only Texas 42 has"),
    Entry("new", "ludory.cli.new.command", "write the package of a new game, agent or algorithm"),
    Entry("completion", "ludory.cli.completion", "print the completion script of a shell: bash, zsh or fish"),
    Entry("doctor", "ludory.cli.doctor", "say what works on this machine and what does not"),
)

PAGES = (
    Entry("texas42", "ludory.web.texas42.routes:PAGE", "Texas 42: what a hand can bid"),
    Entry("league", "ludory.web.league.routes:PAGE", "leagues, also while they run"),
    Entry("text-ppo", "ludory.web.text_ppo.routes:PAGE", "episodes from which language models learn"),
)

VIEWERS = (
    Entry("battles", "ludory.data.pokemon.viewing.battle_page:VIEWER", "logs of Pokémon battles"),
    Entry("texas42-eq", "ludory.web.texas42.page:VIEWER", "E[Q] records of Texas 42"),
)

JOBS = (
    Entry("check/data", "ludory.cli.data.check", "sum up files of recorded games"),
    Entry("check/rooms", "ludory.cli.sokoban.rooms", "compare two sets of rooms"),
    Entry("serve/openenv", "ludory.cli.spa.openenv", "serve a text game to clients of OpenEnv"),
    Entry("train/pipeline", "ludory.cli.league.pipeline", "imitation, fine-tuning, league and report in turn"),
)
"""Commands whose name is a verb and a word behind it."""

BELIEFS = (
    Entry("hanabi", "ludory.agents.hanabi.joint_search:beliefs", "exact sets of hands; two seats can search together"),
    Entry("texas42", "ludory.agents.texas42.play.response:beliefs", "worlds dealt anew at every decision"),
)

_PUZZLES = "ludory.agents.puzzles.analysis:analysis"

ANALYSTS = (
    Entry(
        "hanabi", "ludory.agents.hanabi.analysis:analysis", "rule bots play on in exact beliefs; hands as probabilities"
    ),
    Entry("texas42", "ludory.agents.texas42.analysis:analysis", "E[Q] in solved worlds; who may hold which tile"),
    Entry("sokoban", _PUZZLES, "plans with the fewest pushes"),
    Entry("frozen_lake", _PUZZLES, "value iteration over the actions that are left"),
    Entry("sudoku", _PUZZLES, "the solution of the grid as it stands"),
)

_LAST_MAN_STANDING = "ludory.data.formats.last_man_standing.format:"

FORMATS = (
    Entry("ludory", "ludory.data.formats.core:LudoryFormat", "datasets of Ludory"),
    Entry("minari", "ludory.data.formats.core:MinariFormat", "datasets of Minari: a folder or id"),
    Entry("recorder", f"{_LAST_MAN_STANDING}RecorderFormat", "ticks of the arena or a game like it (*.jsonl.gz)"),
    Entry(
        "feedback",
        f"{_LAST_MAN_STANDING}FeedbackFormat",
        "of a live client of such a game (feedback_stream.jsonl, manifest.jsonl)",
    ),
    Entry(
        "battle-jsonl",
        "ludory.data.pokemon.format:BattleTrajectoryFormat",
        "Pokémon: one player's trajectory in each line",
    ),
    Entry("sparta", "ludory.data.formats.sparta.format:SpartaFormat", "Hanabi: logs of a search"),
    Entry(
        "hanab-live",
        "ludory.data.formats.hanabi.format:HanabLiveFormat",
        "Hanabi: games of people on hanab.live (JSON), and those of AH2AC2 (safetensors)",
    ),
)

MAKERS = (
    Entry("agent", "ludory.agents.make:make_agent", "the agent of a name or of a checkpoint"),
    Entry(
        "torch_policy", "ludory.agents.hanabi.networks.import_hanabi_gru:import_hanabi_gru", "the network in a .pt file"
    ),
)
"""Functions of upper rooms and of systems that others look up by name, because rooms import one way."""
