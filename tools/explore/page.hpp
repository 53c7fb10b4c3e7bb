// A sweep for people and for programs.
#pragma once

#include <filesystem>
#include <string>

#include "tools/explore/figures.hpp"

namespace assay::explore {

/// One self-contained page: it needs no other file, no network, and no installation.
std::string page(const sweep_identity& identity, const std::vector<question>& questions,
                 const std::vector<std::string>& answers, std::size_t cells, const std::string& beside = "");

/// One line for each result: the axes, the name of the result, and its value (empty: there is none).
std::string as_csv(const std::vector<measured_cell>& cells);
/// {"format": "assay-sweep/1", ..., "cells": [{"cell": "...", axes, "results": {...}}]}. NaN is null; infinities are
/// strings.
std::string as_json(const sweep_identity& identity, const std::vector<measured_cell>& cells);

/// "Numerical limits of position encodings": the measured tables with the laws, in Markdown, each with the command that
/// makes its cells.
std::string findings(const sweep_identity& identity, const std::vector<measured_cell>& cells);

/// Writes index.html, cells.csv, cells.json, findings.md, and with `figures` figures/*.svg. Each file is written under
/// another name and renamed. Throws std::runtime_error if one cannot be written.
void write_documents(const std::filesystem::path& folder, const sweep_identity& identity,
                     const std::vector<measured_cell>& cells, bool figures,
                     const std::vector<measured_cell>& beside = {}, const std::string& beside_name = "");

}  // namespace assay::explore
