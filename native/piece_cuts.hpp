// Where a long document may be cut so that its pieces, encoded one by one, have the ids of the whole.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "pattern.hpp"

namespace groundup {

// Places in `text`, each the first one num_chars characters or more behind the one before it (the first: behind the
// beginning) where a space, tab, \n or \r follows another character that is no white space and pre-tokens part there
// in every text. Never the end of the text, behind which more may follow.
//
// White space: also U+001C to U+001F, as Python has it. Cost: linear, each character is looked at once. Bytes that are
// not UTF-8 do no harm.
std::vector<std::size_t> piece_cuts(Pattern pattern, std::string_view text, std::size_t num_chars);

}  // namespace groundup
