// An encoder as a file, which is read many times faster than the encoder is made.
//
// The file holds the tables of the encoder and a copy of its source, the tokenizer file that it was made of, and is good
// for just that source. It begins with a header: what kind of file this is, by which core it was written (the tables are
// good for no other), sizes, a checksum of the tables. So a file that is cut short, damaged or of another core
// counts as none. A file that somebody forged does not: where files come from is the caller's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bpe_encode.hpp"

namespace groundup {

struct StoredEncoder {
    std::unique_ptr<Encoder> encoder;
    std::vector<std::string> notes;
};

// The content of the file. The notes are the caller's, to be had back with the encoder.
std::string store_encoder(const Encoder& encoder, std::string_view source,
                          const std::vector<std::string_view>& notes);

// Out of an open file; nothing if it is not whole, or not for the source that the other open file holds and this core.
// Both by their descriptors, `file` at its beginning. Of the source no more than a piece is in memory at a time.
std::optional<StoredEncoder> read_stored_encoder(int file, int source, std::size_t cache_bytes);

// Of an open file, from its beginning; nothing if it cannot be read.
std::optional<std::uint64_t> checksum_of_file(int file);

// In hexadecimal: what the core is built from. Other numbers may mean other tables.
std::string core_version();

}  // namespace groundup
