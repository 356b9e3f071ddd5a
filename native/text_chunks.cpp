#include "text_chunks.hpp"

#include <algorithm>
#include <cerrno>

#include "errors.hpp"
#include "pretokenize.hpp"

namespace groundup {

namespace {

constexpr std::size_t kLongestCharacter = 4;

// The last place that can be judged in a text of so many bytes that goes on: a special token that begins
// before it must be seen whole, and so must the character after it.
std::size_t last_place(std::size_t num_bytes, const SpecialTokens& specials) {
    const std::size_t unseen = std::max(kLongestCharacter, specials.longest());
    return num_bytes < unseen ? 0 : num_bytes - unseen + 1;
}

// Text without a cut that is not UTF-8 needs no cut any more: whoever gets it finds the error.
bool is_broken(std::string_view text, std::size_t from) {
    while (from > 0 && from < text.size() && is_continuation(text[from])) --from;
    const std::size_t invalid = find_invalid_utf8(text.substr(std::min(from, text.size())));
    return invalid != kNowhere && from + invalid + kLongestCharacter <= text.size();
}

}  // namespace

bool is_boundary_at(Pattern pattern, std::string_view text, std::size_t cut) {
    if (cut == 0 || cut >= text.size() || is_continuation(text[cut]) || valid_character(text.substr(cut)) == 0) return false;
    std::size_t before = cut - 1;
    while (before > 0 && cut - before < kLongestCharacter && is_continuation(text[before])) --before;
    if (valid_character(text.substr(before, cut - before)) != cut - before) return false;
    return is_boundary(pattern, decode_valid(text.data() + before).code_point,
                       decode_valid(text.data() + cut).code_point);
}

std::size_t find_cut(Pattern pattern, std::string_view text, std::size_t low, const SpecialTokens& specials) {
    for (std::size_t cut = last_place(text.size(), specials); cut > low; --cut) {
        if (is_boundary_at(pattern, text, cut) && !specials.straddles(text, cut)) return cut;
    }
    return kNowhere;
}

bool TextChunks::next(Chunk& chunk) {
    if (position_ == text_.size()) return false;
    const std::string_view rest = text_.substr(position_);
    std::size_t length = rest.size();
    std::size_t searched = 0;
    // Twice as much at each try: a word of any length is found in linear time.
    for (std::size_t wanted = chunk_bytes_; wanted < rest.size(); wanted *= 2) {
        const std::string_view candidate = rest.substr(0, wanted);
        const std::size_t cut = find_cut(pattern_, candidate, searched, specials_);
        if (cut != kNowhere) length = cut;
        if (cut != kNowhere || is_broken(candidate, searched)) break;
        searched = last_place(wanted, specials_);
    }
    chunk.text = rest.substr(0, length);
    chunk.offset = position_;
    position_ += length;
    return true;
}

FileChunks::FileChunks(Pattern pattern, const std::string& path, std::size_t chunk_bytes,
                       const SpecialTokens& specials)
    : pattern_(pattern),
      path_(path),
      file_(std::fopen(path.c_str(), "rb")),
      chunk_bytes_(chunk_bytes),
      specials_(specials) {
    if (!file_) throw FileError(errno, path);
    std::setvbuf(file_.get(), nullptr, _IONBF, 0);  // it would copy every byte once more
}

void FileChunks::read_until(std::string& buffer, std::size_t wanted) {
    const std::size_t held = buffer.size();
    if (at_end_ || held >= wanted) return;
    buffer.resize(wanted);
    const std::size_t got = std::fread(buffer.data() + held, 1, wanted - held, file_.get());
    buffer.resize(held + got);
    if (held + got == wanted) return;
    if (std::ferror(file_.get())) throw FileError(errno, path_);
    at_end_ = true;
}

bool FileChunks::next(Chunk& chunk) {
    chunk.storage.swap(rest_);
    rest_.clear();
    std::size_t searched = 0;
    for (std::size_t wanted = std::max(chunk_bytes_, chunk.storage.size() + 1);; wanted *= 2) {
        read_until(chunk.storage, wanted);
        if (at_end_) break;
        const std::size_t cut = find_cut(pattern_, chunk.storage, searched, specials_);
        if (cut != kNowhere) {
            rest_.assign(chunk.storage, cut);
            chunk.storage.resize(cut);
            break;
        }
        if (is_broken(chunk.storage, searched)) break;
        searched = last_place(wanted, specials_);
    }
    chunk.text = chunk.storage;
    chunk.offset = position_;
    position_ += chunk.text.size();
    return !chunk.text.empty();
}

}  // namespace groundup
