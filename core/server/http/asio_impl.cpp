// The compiled half of Boost.Asio and Beast (their separate compilation mode). Nothing of ours.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
