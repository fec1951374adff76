// A tensor without data: dtype, layout and a share of a storage, with the autograd node that made it.
//
// Storages are reference-counted and report to the ledger, so the scope of a C++ variable is the lifetime of the
// memory, as the scope of a Python variable is in PyTorch. Single-threaded.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/dtype.hpp"
#include "core/layout.hpp"
#include "core/ledger.hpp"
#include "core/pool.hpp"

namespace llmcalc {

// Shared ownership of a T that counts its own references in `references`.
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) { retain(); }
  Ref(const Ref& other) : object_(other.object_) { retain(); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ && --object_->references == 0) delete object_;
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

 private:
  void retain() {
    if (object_) ++object_->references;
  }
  T* object_ = nullptr;
};

// A block of memory. `ledger` is null for what is counted elsewhere (parameters: once, up front).
struct Storage : Pooled<Storage> {
  Storage(Ledger* account, Part what, Bytes size);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  // A node keeps, or lets go of, a tensor in this storage.
  void keep();
  void let_go();

  void become(Part what);  // e.g. a temporary that turns out to be a parameter's gradient

  Ledger* ledger;
  Part part;
  Bytes bytes;
  std::uint32_t references = 0;
  std::uint32_t keepers = 0;  // saved slots of nodes that hold it
  bool kept_before = false;   // was it ever kept? Sums count a storage once
};

struct Node;

struct Tensor {
  DType dtype = DType::float32;
  bool requires_grad = false;
  bool is_view = false;         // shares the storage of another tensor, which it keeps alive
  std::uint8_t output = 0;      // which output of `grad_fn` this is
  std::int32_t parameter = -1;  // index of the parameter this leaf is, in the trace
  Layout layout;
  Ref<Storage> storage;
  Ref<Node> grad_fn;

  const Dims& shape() const { return layout.shape; }
  int rank() const { return layout.shape.rank(); }
  Count size(int axis) const { return layout.shape[axis < 0 ? axis + rank() : axis]; }
  Count elements() const { return llmcalc::elements(layout.shape); }
  Bytes bytes() const { return size_of(dtype) * elements(); }
  bool defined() const { return static_cast<bool>(storage); }
  bool is_leaf() const { return !grad_fn; }
};

}  // namespace llmcalc
