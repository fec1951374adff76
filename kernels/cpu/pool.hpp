// Threads pinned to one processor each, that run one job together and say how long it took.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace llmcalc::cpu {

struct PoolTiming {
  double seconds = 0;      // from the first thread's start to the last one's end
  double cpu_seconds = 0;  // most time a thread had on its processor
  long switched_away = 0;  // how often another program was given the processor of one of them
};

class Pool {
 public:
  explicit Pool(const std::vector<int>& processors);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  std::size_t size() const { return threads_.size(); }
  std::size_t pinned() const { return pinned_; }  // how many threads the system let us pin

  // `job(i)` on thread i of size(), all at once; returns when the last is done. Not reentrant. The job must not throw.
  PoolTiming run(const std::function<void(std::size_t)>& job);

 private:
  struct Report {
    double start = 0, end = 0, cpu = 0;
    long switched_away = 0;
  };

  void work(std::size_t index);

  std::atomic<unsigned> generation_{0}, waiting_{0};
  bool stopping_ = false;
  const std::function<void(std::size_t)>* job_ = nullptr;
  std::vector<Report> reports_;
  std::vector<std::thread> threads_;
  std::size_t pinned_ = 0;
};

}  // namespace llmcalc::cpu
