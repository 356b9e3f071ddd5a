// The patterns that cut text into pre-tokens, as far as they have hand-written scanners.
//
// In Python: groundup.tokenizer.patterns, which also knows the other spellings of each.
#pragma once

#include <cstdint>
#include <string_view>

namespace groundup {

enum class Pattern : std::uint8_t {
    gpt2,    // '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
    smollm,  // as gpt2, but \p{N} alone, and \s+(?![^\s\p{N}]) for \s+(?!\S)
    llama3,  // '(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*
             //     |\s*[\r\n]+|\s+(?!\S)|\s+
    cl100k,  // as llama3, but white space at the end of the text is one word: \s++$ before \s*[\r\n]+
    qwen2,   // as llama3, but \p{N} alone
    o200k,   // X?U*L+C?|X?U+L*C?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
             //     with X = [^\r\n\p{L}\p{N}], U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}],
             //     L = [\p{Ll}\p{Lm}\p{Lo}\p{M}], C = '(?i:[sdmt]|ll|ve|re)
};

// Throws std::invalid_argument for a name that is none of these.
Pattern pattern_named(std::string_view name);

}  // namespace groundup
