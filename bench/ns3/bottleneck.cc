// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// Bulk TCP flows through one point-to-point link between two nodes, in ns-3. The sender's own link is the
// bottleneck and its device queue the bottleneck queue; there is no traffic control layer. Prints one JSON document.
// Nothing is traced.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <cstdio>
#include <string>

using namespace ns3;

int
main(int argc, char* argv[])
{
    uint32_t flows = 1;
    std::string rate = "100Mbps";
    std::string rtt = "20ms";
    uint32_t queue = 167;
    double duration = 100;
    uint32_t mss = 1448;
    std::string cc = "TcpCubic";
    bool hystart = true;
    double loss = 0;
    uint32_t seed = 1;

    CommandLine cmd(__FILE__);
    cmd.AddValue("flows", "number of flows", flows);
    cmd.AddValue("rate", "link rate", rate);
    cmd.AddValue("rtt", "round-trip propagation delay", rtt);
    cmd.AddValue("queue", "bottleneck queue, packets", queue);
    cmd.AddValue("duration", "seconds", duration);
    cmd.AddValue("mss", "payload bytes per segment", mss);
    cmd.AddValue("cc", "congestion control type", cc);
    cmd.AddValue("hystart", "CUBIC's HyStart", hystart);
    cmd.AddValue("loss", "probability of losing a data packet", loss);
    cmd.AddValue("seed", "random run number", seed);
    cmd.Parse(argc, argv);

    RngSeedManager::SetRun(seed);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + cc)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(mss));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 26));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 26));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(hystart));

    NodeContainer nodes;
    nodes.Create(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", TimeValue(Time(rtt) / 2));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(std::to_string(queue) + "p"));
    NetDeviceContainer devices = link.Install(nodes);
    if (loss > 0)
    {
        auto model = CreateObject<RateErrorModel>();
        model->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        model->SetRate(loss);
        devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(model));
    }

    InternetStackHelper internet;
    internet.Install(nodes);
    Ipv4AddressHelper address("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = address.Assign(devices);
    // The address helper installs a default queueing discipline in front of the device: take it away again.
    TrafficControlHelper().Uninstall(devices);

    ApplicationContainer sinks;
    for (uint32_t i = 0; i < flows; ++i)
    {
        const uint16_t port = 5000 + i;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks.Add(sink.Install(nodes.Get(1)));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(1), port));
        source.SetAttribute("MaxBytes", UintegerValue(0));
        source.SetAttribute("SendSize", UintegerValue(mss));
        ApplicationContainer sender = source.Install(nodes.Get(0));
        sender.Start(MilliSeconds(i));
    }
    sinks.Start(Seconds(0));

    Simulator::Stop(Seconds(duration));
    Simulator::Run();

    uint64_t bytes = 0;
    for (uint32_t i = 0; i < sinks.GetN(); ++i)
    {
        bytes += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
    }
    std::printf("{\"packets\":%llu,\"seconds\":%g,\"goodput_bps\":%.1f,\"events\":%llu}\n",
                static_cast<unsigned long long>(bytes / mss),
                duration,
                bytes * 8 / duration,
                static_cast<unsigned long long>(Simulator::GetEventCount()));
    Simulator::Destroy();
    return 0;
}
