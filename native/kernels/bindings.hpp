// Adds the kernels to the Python module.
#pragma once

#include <nanobind/nanobind.h>

namespace groundup::kernels {

void bind_kernels(nanobind::module_& module);

}  // namespace groundup::kernels
