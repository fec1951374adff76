#include "kernels/cpu/pool.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>

namespace llmcalc::cpu {
namespace {

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

long involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

}  // namespace

Pool::Pool(const std::vector<int>& processors) : reports_(processors.size()) {
  for (std::size_t i = 0; i < processors.size(); ++i) {
    threads_.emplace_back([this, i] { work(i); });
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processors[i], &set);
    pinned_ += pthread_setaffinity_np(threads_[i].native_handle(), sizeof set, &set) == 0;
  }
}

Pool::~Pool() {
  stopping_ = true;
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Pool::work(std::size_t index) {
  unsigned seen = 0;
  for (;;) {
    generation_.wait(seen, std::memory_order_acquire);
    seen = generation_.load(std::memory_order_acquire);
    if (stopping_) return;
    Report& report = reports_[index];
    const long switches = involuntary_switches();
    const double cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    report.start = seconds_of(CLOCK_MONOTONIC);
    (*job_)(index);
    report.end = seconds_of(CLOCK_MONOTONIC);
    report.cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
    report.switched_away = involuntary_switches() - switches;
    if (waiting_.fetch_sub(1, std::memory_order_acq_rel) == 1) waiting_.notify_one();
  }
}

PoolTiming Pool::run(const std::function<void(std::size_t)>& job) {
  job_ = &job;
  waiting_.store(static_cast<unsigned>(threads_.size()), std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (unsigned left = waiting_.load(std::memory_order_acquire); left != 0;
       left = waiting_.load(std::memory_order_acquire))
    waiting_.wait(left, std::memory_order_acquire);
  PoolTiming timing;
  double first = reports_.front().start, last = reports_.front().end;
  for (const Report& report : reports_) {
    first = std::min(first, report.start);
    last = std::max(last, report.end);
    timing.cpu_seconds = std::max(timing.cpu_seconds, report.cpu);
    timing.switched_away += report.switched_away;
  }
  timing.seconds = last - first;
  return timing;
}

}  // namespace llmcalc::cpu
