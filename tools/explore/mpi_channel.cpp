// ranks.so: the channel of ranks.hpp, implemented with MPI. A fault of MPI ends the launch, with MPI's own message.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "tools/explore/ranks.hpp"

namespace assay::explore {
namespace {

class mpi_channel : public rank_channel {
 public:
  mpi_channel() {
    int granted = MPI_THREAD_SINGLE;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &granted);
    if (granted < MPI_THREAD_SERIALIZED) MPI_Abort(MPI_COMM_WORLD, 4);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm here = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &neighbours_);
    MPI_Comm_free(&here);
  }
  ~mpi_channel() override { MPI_Finalize(); }
  mpi_channel(const mpi_channel&) = delete;
  mpi_channel& operator=(const mpi_channel&) = delete;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] int neighbours() const override { return neighbours_; }

  void send(int to, const std::string& message) override {
    MPI_Send(message.data(), static_cast<int>(message.size()), MPI_BYTE, to, 0, MPI_COMM_WORLD);
  }

  // MPI's own waiting would use a whole core, which other threads need for measuring.
  std::pair<int, std::string> receive() override {
    using std::chrono::microseconds;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    int is_there = 0, count = 0;
    for (auto pause = microseconds(20);; pause = std::min(2 * pause, microseconds(2000))) {
      MPI_Improbe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &is_there, &message, &status);
      if (is_there != 0) break;
      std::this_thread::sleep_for(pause);
    }
    MPI_Get_count(&status, MPI_BYTE, &count);
    std::string bytes(static_cast<std::size_t>(count), '\0');
    MPI_Mrecv(bytes.data(), count, MPI_BYTE, &message, &status);
    return {status.MPI_SOURCE, std::move(bytes)};
  }

 private:
  int rank_ = 0, size_ = 1, neighbours_ = 1;
};

}  // namespace
}  // namespace assay::explore

extern "C" assay::explore::rank_channel* assay_rank_channel() { return new assay::explore::mpi_channel; }
