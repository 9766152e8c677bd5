// The episode as a person sees it, while it happens and at its end.

#pragma once

#include "invoice/episode.hpp"

namespace invoice {

void print_opening();
/// Prints as it hears.
[[nodiscard]] Audience printing_audience();
void print(const Episode& episode);

}  // namespace invoice
