// Completes and checks the result of a load on a server by its own numbers.
#pragma once

#include <string>

#include "results/record/record.h"

namespace assay {

/// Adds the mean lengths of prompts and replies in tokens as the axes "input_about" and
/// "output_about", unless the cell has axes for them, because loads of different lengths are
/// different cells. They are rounded to ten steps a decade, since two runs are never quite equal.
/// Only passed records get them. Voids all TTFTs, TPOTs and ITLs if those of one kind are all 0
/// although replies have two tokens or more, which means that the client saw no stream. Returns
/// which were 0 and why; empty if there are none, or the cell is not of "serving".
std::string complete_load(Record& record);

}  // namespace assay
