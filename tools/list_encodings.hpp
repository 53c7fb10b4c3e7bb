// What `assay list encodings` prints.
#pragma once

namespace assay::tools {

/// The form of a list. `markdown`: a table for a document, for encodings or operations. `json`: for programs, for
/// operations alone. `page`: a document with a section for each, for encodings alone.
enum class list_format { text, json, markdown, page };

/// Prints the encodings. Precondition: the format is not json.
void list_encodings(list_format format);

}  // namespace assay::tools
