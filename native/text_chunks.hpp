// Text in chunks that can be pre-tokenized apart: the words are those of the whole, wherever the cuts fall.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "pattern.hpp"
#include "special_tokens.hpp"

namespace groundup {

inline constexpr std::size_t kDefaultChunkBytes = std::size_t{1} << 18;

struct Chunk {
    std::string_view text;
    std::uint64_t offset = 0;  // of the first byte, in the whole
    std::string storage;       // holds the text where it comes from a file
};

class ChunkReader {
public:
    virtual ~ChunkReader() = default;
    // Fills the chunk; false at the end. Not thread-safe.
    virtual bool next(Chunk& chunk) = 0;
};

// Chunks of a text in memory, not copied.
class TextChunks : public ChunkReader {
public:
    TextChunks(Pattern pattern, std::string_view text, std::size_t chunk_bytes, const SpecialTokens& specials)
        : pattern_(pattern), text_(text), chunk_bytes_(chunk_bytes), specials_(specials) {}
    bool next(Chunk& chunk) override;

private:
    Pattern pattern_;
    std::string_view text_;
    std::size_t chunk_bytes_;
    const SpecialTokens& specials_;
    std::size_t position_ = 0;
};

// Chunks of a file of any size. Throws FileError.
class FileChunks : public ChunkReader {
public:
    FileChunks(Pattern pattern, const std::string& path, std::size_t chunk_bytes, const SpecialTokens& specials);
    bool next(Chunk& chunk) override;

private:
    void read_until(std::string& buffer, std::size_t wanted);

    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    Pattern pattern_;
    std::string path_;
    std::unique_ptr<std::FILE, Close> file_;
    std::size_t chunk_bytes_;
    const SpecialTokens& specials_;
    std::string rest_;  // read, but behind the last cut
    std::uint64_t position_ = 0;
    bool at_end_ = false;
};

// Whether the text, which goes on behind the character at `cut`, may be cut there: between two characters that
// part two pre-tokens in every text. False at 0 and at the end of the text.
bool is_boundary_at(Pattern pattern, std::string_view text, std::size_t cut);

// The last place above `low` where `text`, which goes on, may be cut: at a boundary, and not inside a special
// token. kNowhere if there is none.
std::size_t find_cut(Pattern pattern, std::string_view text, std::size_t low, const SpecialTokens& specials);

}  // namespace groundup
