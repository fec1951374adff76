// Memory for the many small objects of a trace: freed blocks are kept and handed out again.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace llmcalc {

// `class Node : public Pooled<Node>`: new and delete of single Nodes go through a list of freed ones.
template <class T>
class Pooled {
 public:
  static void* operator new(std::size_t size) {
    if (size != sizeof(T) || !freed()) return ::operator new(size);
    Block* const block = freed();
    freed() = block->next;
    return block;
  }
  static void operator delete(void* memory, std::size_t size) {
    if (size != sizeof(T)) {
      ::operator delete(memory);
      return;
    }
    freed() = ::new (memory) Block{freed()};
  }

 private:
  struct Block {
    Block* next;
  };
  // Blocks live as long as the thread; a process traces a few models and ends.
  struct List {
    Block* first = nullptr;
    ~List() {
      while (first) ::operator delete(std::exchange(first, first->next));
    }
  };
  static Block*& freed() {
    thread_local List list;
    return list.first;
  }
};

}  // namespace llmcalc
