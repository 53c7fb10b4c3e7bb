// What `assay list encodings` prints.
#pragma once

namespace assay::tools {

/// Encodings and operations can be listed as a table of a document (markdown), too, operations for a program (json),
/// and encodings as a page with a section for each.
enum class list_format { text, json, markdown, page };

/// Prints the encodings. Precondition: the format is not json.
void list_encodings(list_format format);

}  // namespace assay::tools
