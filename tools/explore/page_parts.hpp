// page.css and page.js, compiled in.
#pragma once

namespace assay::explore {

extern const char* const page_css;
extern const char* const page_js;

}  // namespace assay::explore
