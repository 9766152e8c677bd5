// The memory of the program in pages of 2 MiB where the system has such.

#pragma once

namespace perdure::cli {

/// For memory that is taken from now on. A session of a thousand turns is some 20 MB: in the usual
/// pages it is handed out in five thousand pieces, and that takes as long as reading it. Before any
/// thread.
void take_large_pages();

}  // namespace perdure::cli
