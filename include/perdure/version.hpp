// Which Perdure this is, for the preprocessor: the only macros that Perdure defines.
//
// The build takes its version from here, so there is no second place to change.
//
//   #if PERDURE_VERSION_MAJOR == 0 && PERDURE_VERSION_MINOR < 2

#pragma once

#define PERDURE_VERSION_MAJOR 0
#define PERDURE_VERSION_MINOR 1
#define PERDURE_VERSION_PATCH 0
/// "MAJOR.MINOR.PATCH".
#define PERDURE_VERSION_STRING "0.1.0"
