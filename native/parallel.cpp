#include "parallel.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#ifdef __linux__
#include <sched.h>
#endif

namespace groundup {

namespace {

std::size_t processors_by_affinity() {
#ifdef __linux__
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<std::size_t>(CPU_COUNT(&set));
#endif
    return std::thread::hardware_concurrency();
}

// Processors that the files of one control group allow, 0 where they set no limit.
double quota_of(const std::string& folder) {
    std::string quota;
    double period = 0;
    if (std::ifstream version_2(folder + "/cpu.max"); version_2 >> quota >> period) {
        return quota == "max" || period <= 0 ? 0 : std::stod(quota) / period;
    }
    double microseconds = 0;
    std::ifstream version_1_quota(folder + "/cpu.cfs_quota_us");
    std::ifstream version_1_period(folder + "/cpu.cfs_period_us");
    if (version_1_quota >> microseconds && version_1_period >> period && microseconds > 0 && period > 0) {
        return microseconds / period;
    }
    return 0;
}

// The tightest quota of this process's control group and of those above it, 0 where there is none.
double processors_by_quota() {
    double tightest = 0;
    const auto take = [&tightest](double quota) {
        if (quota > 0 && (tightest == 0 || quota < tightest)) tightest = quota;
    };
    take(quota_of("/sys/fs/cgroup"));
    take(quota_of("/sys/fs/cgroup/cpu"));
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        if (!controllers.empty() && controllers.find("cpu") == std::string::npos) continue;
        const std::string root = controllers.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu";
        for (std::string path = line.substr(second + 1); path.rfind('/', 0) == 0 && path.size() > 1;
             path.resize(path.rfind('/'))) {
            take(quota_of(root + path));
        }
    }
    return tightest;
}

}  // namespace

std::size_t default_num_threads() {
    std::size_t count = std::max<std::size_t>(1, processors_by_affinity());
    const double quota = processors_by_quota();
    if (quota > 0) count = std::min(count, static_cast<std::size_t>(std::max(1.0, std::ceil(quota))));
    return count;
}

}  // namespace groundup
