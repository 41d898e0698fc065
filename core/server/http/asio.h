// Boost.Asio and Beast as this folder uses them. Slow to compile: included by session.cpp,
// server.cpp and asio_impl.cpp only.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace ft::server {

namespace asio = boost::asio;
using asio::ip::tcp;

/// Completions as (error code, result): nothing throws in the ordinary course.
inline constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

}  // namespace ft::server
