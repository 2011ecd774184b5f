// Plays random Hanabi for two in the C++ core of hanabi-learning-environment, and speaks as worker.py does.
//
// At every decision: the legal moves of the seat to move and, if asked for, its observation encoded by the canonical encoder;
// then a uniformly random legal move, and the cards that chance deals. An observation holds the legal moves already, so they
// are not computed twice.

#include <chrono>
#include <ctime>
#include <iostream>
#include <random>
#include <vector>

#include "canonical_encoders.h"
#include "hanabi_game.h"
#include "hanabi_observation.h"
#include "hanabi_state.h"

namespace hle = hanabi_learning_env;

constexpr int kMoves = 256;

class RandomPlay {
 public:
  RandomPlay() : game_({{"players", "2"}, {"seed", "1"}}), encoder_(&game_), state_(&game_), generator_(1) {}

  void Play(bool observe) {
    for (int move = 0; move < kMoves; ++move) {
      if (state_.IsTerminal()) state_ = hle::HanabiState(&game_);
      while (state_.CurPlayer() == hle::kChancePlayerId) state_.ApplyRandomChance();
      const std::vector<hle::HanabiMove> legal = observe ? Observe() : state_.LegalMoves(state_.CurPlayer());
      state_.ApplyMove(legal[std::uniform_int_distribution<size_t>(0, legal.size() - 1)(generator_)]);
    }
  }

  long seen() const { return seen_; }

 private:
  std::vector<hle::HanabiMove> Observe() {
    const hle::HanabiObservation observation(state_, state_.CurPlayer());
    seen_ += encoder_.Encode(observation).back();  // uses the result, so that it is not optimised away
    return observation.LegalMoves();
  }

  hle::HanabiGame game_;
  hle::CanonicalObservationEncoder encoder_;
  hle::HanabiState state_;
  std::mt19937 generator_;
  long seen_ = 0;
};

int main() {
  using Clock = std::chrono::steady_clock;
  RandomPlay play;
  play.Play(true);
  std::cout << "{\"versions\": {\"hanabi-learning-environment\": \"" HLE_VERSION "\"}}" << std::endl;
  double seconds;
  int observe;
  while (std::cin >> seconds >> observe) {
    long steps = 0;
    double elapsed = 0;
    const auto start = Clock::now();
    const std::clock_t cpu_start = std::clock();
    while (elapsed < seconds) {
      play.Play(observe == 1);
      steps += kMoves;
      elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    }
    const double cpu = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
    std::cout << "{\"steps\": " << steps << ", \"seconds\": " << elapsed << ", \"cpu_seconds\": " << cpu
              << ", \"seen\": " << play.seen() << "}" << std::endl;
  }
}
