// The end of a training step: norm of the gradients, clipping, and AdamW (Loshchilov & Hutter 2019)
// or plain gradient descent over all parameters in one launch.
#include "fast_math.h"
#include "random.h"
#include "rows.h"
#include "step_state.h"

namespace {

template <typename T>
DEVICE void sum_squares(float* partial, const T* x, u64 elements) {
  SHARED float scratch[most_waves];
  float total = 0;
  for_each_pack_of_all(elements, [&](u64 i) {
    const Floats values = load_floats(x + i);
    total += (values * values).sum();
  });
  total = block_reduce(total, Sum{}, scratch);
  if (thread_index() == 0) partial[block_index()] = total;
}

/// Returns the sum of all floats, in every thread of the block. `scratch` has one float per wave.
DEVICE float sum_of(const float* floats, u64 count, float* scratch) {
  float total = 0;
  for (u64 i = thread_index(); i < count; i += block_threads()) total += floats[i];
  return block_reduce(total, Sum{}, scratch);
}

/// AdamW for some weights and their moments, in place.
struct AdamW {
  UpdateSettings s;
  float rate, correction1, correction2, factor;
  DEVICE AdamW(const StepState& state, const UpdateSettings& settings)
      : s(settings),
        rate(state.learning_rate),
        correction1(state.correction1),
        correction2(state.correction2),
        factor(state.gradient_factor) {}
  DEVICE void operator()(Floats& weights, Floats gradients, Floats& first, Floats& second) const {
    UNROLL_LOOP
    for (int e = 0; e < row_pack; ++e) {
      const float g = gradients.v[e] * factor;
      const float m = s.beta1 * first.v[e] + (1 - s.beta1) * g;
      const float v = s.beta2 * second.v[e] + (1 - s.beta2) * g * g;
      first.v[e] = m;
      second.v[e] = v;
      weights.v[e] = weights.v[e] * (1 - rate * s.weight_decay) -
                     rate * m * correction1 / (fast_sqrt(v * correction2) + s.epsilon);
    }
  }
};

/// Gradient descent with weight decay.
struct Descent {
  float keep, rate;
  DEVICE Descent(const StepState& state, const UpdateSettings& settings)
      : keep(1 - state.learning_rate * settings.weight_decay),
        rate(state.learning_rate * state.gradient_factor) {}
  DEVICE Floats operator()(Floats weights, Floats gradients) const {
    UNROLL_LOOP
    for (int e = 0; e < row_pack; ++e) {
      weights.v[e] = weights.v[e] * keep - rate * gradients.v[e];
    }
    return weights;
  }
};

/// The weights are f32, or they are bf16 or f16 with f32 masters.
template <typename T>
DEVICE void sgd(T* weights, float* master, const T* gradients, const StepState* state,
                UpdateSettings settings, u64 elements) {
  if (state->skips_update != 0) return;
  const Descent update(*state, settings);
  for_each_pack_of_all(elements, [&](u64 i) {
    const Floats before = master != nullptr ? load_floats(master + i) : load_floats(weights + i);
    const Floats after = update(before, load_floats(gradients + i));
    if (master != nullptr) store_floats(master + i, after);
    store_floats(weights + i, after);
  });
}

/// Moments are f32. The weights are f32, or they are bf16 or f16 with f32 masters.
template <typename T>
DEVICE void adamw(T* weights, float* master, float* first, float* second, const T* gradients,
                  const StepState* state, UpdateSettings settings, u64 elements) {
  if (state->skips_update != 0) return;
  const AdamW update(*state, settings);
  for_each_pack_of_all(elements, [&](u64 i) {
    const Floats g = load_floats(gradients + i);
    Floats w = master != nullptr ? load_floats(master + i) : load_floats(weights + i);
    Floats m = load_floats(first + i), v = load_floats(second + i);
    update(w, g, m, v);
    store_floats(first + i, m);
    store_floats(second + i, v);
    if (master != nullptr) store_floats(master + i, w);
    store_floats(weights + i, w);
  });
}

/// Dynamic loss scaling: halved when a gradient is not finite, doubled after a number of good steps
/// (Micikevicius et al. 2018, Mixed precision training; the factors are those of NVIDIA's guide and
/// of PyTorch's GradScaler). Returns whether the gradients allow an update.
DEVICE bool adapt_loss_scale(StepState* state, float sum_of_squares, unsigned growth_interval) {
  constexpr float least = 1, largest = 2147483648.0f;  // a scale beyond these limits gains nothing
  const float scale = state->loss_scale;
  if (!(sum_of_squares <= 3e38f)) {  // infinite or NaN
    state->loss_scale = scale > 2 * least ? scale / 2 : least;
    state->good_steps = 0;
    ++state->skipped;
    return false;
  }
  if (++state->good_steps < growth_interval) return true;
  state->loss_scale = scale < largest / 2 ? scale * 2 : largest;
  state->good_steps = 0;
  return true;
}

}  // namespace

/// partial[block] = the sum of squares of the elements that this block reads.
KERNEL(sum_squares_f32, float* partial, const float* x, u64 elements) {
  sum_squares(partial, x, elements);
}
KERNEL(sum_squares_bf16, float* partial, const Bf16* x, u64 elements) {
  sum_squares(partial, x, elements);
}
KERNEL(sum_squares_f16, float* partial, const F16* x, u64 elements) {
  sum_squares(partial, x, elements);
}

/// total = the sum of the partial sums, for ranks that each know a part of them. Grid: one block.
KERNEL(sum_partial, float* total, const float* partial, u64 partials) {
  SHARED float scratch[most_waves];
  const float sum = sum_of(partial, partials, scratch);
  if (thread_index() == 0) *total = sum;
}

/// Sets what the update reads: the learning rate of this step (steps beyond the end of `rates` use
/// its last entry), Adam's corrections, the factor that limits the gradients' norm, and the next
/// step's loss scale. Grid: one block.
KERNEL(prepare_update, StepState* state, const float* partial, u64 partials, const float* rates,
       u64 steps, UpdateSettings settings) {
  SHARED float scratch[most_waves];
  const float total = sum_of(partial, partials, scratch);
  if (thread_index() != 0) return;
  const float scale = state->loss_scale;  // the scale of the current gradients
  const float norm = fast_sqrt(total) / scale;
  state->gradient_norm = norm;
  state->skips_update = 0;
  if (settings.scale_growth_interval > 0 &&
      !adapt_loss_scale(state, total, settings.scale_growth_interval)) {
    state->skips_update = 1;
    return;
  }
  const float clipped = settings.clip > 0 && norm > settings.clip ? settings.clip / norm : 1.0f;
  state->gradient_factor = clipped / scale;
  state->learning_rate = rates[state->step < steps ? state->step : steps - 1];
  state->beta1_power *= settings.beta1;
  state->beta2_power *= settings.beta2;
  state->correction1 = static_cast<float>(1 / (1 - state->beta1_power));
  state->correction2 = static_cast<float>(1 / (1 - state->beta2_power));
}

KERNEL(adamw_f32, float* weights, float* master, float* first, float* second,
       const float* gradients, const StepState* state, UpdateSettings settings, u64 elements) {
  adamw(weights, master, first, second, gradients, state, settings, elements);
}
KERNEL(adamw_bf16, Bf16* weights, float* master, float* first, float* second, const Bf16* gradients,
       const StepState* state, UpdateSettings settings, u64 elements) {
  adamw(weights, master, first, second, gradients, state, settings, elements);
}
KERNEL(adamw_f16, F16* weights, float* master, float* first, float* second, const F16* gradients,
       const StepState* state, UpdateSettings settings, u64 elements) {
  adamw(weights, master, first, second, gradients, state, settings, elements);
}

/// AdamW with bf16 moments and no masters. Stored values are rounded up or down at random, so that
/// small changes are not lost; weights and both moments use separate random bits.
KERNEL(adamw_stochastic_bf16, Bf16* weights, Bf16* first, Bf16* second, const Bf16* gradients,
       const StepState* state, UpdateSettings settings, u64 elements, u64 seed) {
  const AdamW update(*state, settings);
  const u64 key = seed + state->step;
  for_each_pack_of_all(elements, [&](u64 i) {
    const Floats g = load_floats(gradients + i);
    Floats w = load_floats(weights + i), m = load_floats(first + i), v = load_floats(second + i);
    update(w, g, m, v);
    RandomPack<row_pack> random(i, key);
    store_pack(weights + i, round_stochastically(w, random));
    random.advance();
    store_pack(first + i, round_stochastically(m, random));
    random.advance();
    store_pack(second + i, round_stochastically(v, random));
  });
}

KERNEL(sgd_f32, float* weights, float* master, const float* gradients, const StepState* state,
       UpdateSettings settings, u64 elements) {
  sgd(weights, master, gradients, state, settings, elements);
}
KERNEL(sgd_bf16, Bf16* weights, float* master, const Bf16* gradients, const StepState* state,
       UpdateSettings settings, u64 elements) {
  sgd(weights, master, gradients, state, settings, elements);
}
KERNEL(sgd_f16, F16* weights, float* master, const F16* gradients, const StepState* state,
       UpdateSettings settings, u64 elements) {
  sgd(weights, master, gradients, state, settings, elements);
}
KERNEL(sgd_stochastic_bf16, Bf16* weights, const Bf16* gradients, const StepState* state,
       UpdateSettings settings, u64 elements, u64 seed) {
  const Descent update(*state, settings);
  const u64 key = seed + state->step;
  for_each_pack_of_all(elements, [&](u64 i) {
    const Floats after = update(load_floats(weights + i), load_floats(gradients + i));
    store_pack(weights + i, round_stochastically(after, i, key));
  });
}

/// Marks the step as complete.
KERNEL(end_step, StepState* state) {
  if (thread_index() == 0) ++state->step;
}
