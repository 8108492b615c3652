// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// A bottleneck under CoDel or FQ-CoDel in ns-3, and one JSON document about it.
//   --mode=tcp   bulk TCP flows over a point-to-point link: queue delay, drops and goodput after the warm-up.
//   --mode=open  arrivals that heed nothing, the same as in model.py, into the queue discipline alone: numbers of the
//                packets dropped, and queue delay.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <cstdio>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

struct Options
{
    std::string mode = "tcp";
    std::string aqm = "CoDel";
    std::string cc = "TcpLinuxReno";
    std::string rtt = "20ms";
    uint64_t rate = 10'000'000;
    uint32_t flows = 1;
    uint32_t queue = 1000;
    uint32_t delack = 2;
    double warmup = 0;
    double duration = 100;
    uint32_t load = 120; // percent, in open mode
} options;

uint64_t drops = 0;
uint64_t departures = 0;
double waited = 0; // seconds, all that departed together

/// A packet of a certain flow.
class Item : public QueueDiscItem
{
  public:
    Item(Ptr<Packet> packet, uint32_t flow, uint32_t number = 0)
        : QueueDiscItem(packet, Address(), 0), number(number), m_flow(flow)
    {
        SetTimeStamp(Simulator::Now());
    }

    void AddHeader() override
    {
    }

    bool Mark() override
    {
        return false;
    }

    uint32_t Hash(uint32_t) const override
    {
        return m_flow;
    }

    const uint32_t number;

  private:
    const uint32_t m_flow;
};

Ptr<QueueDisc>
MakeQueueDisc()
{
    auto disc = ObjectFactory("ns3::" + options.aqm + "QueueDisc").Create<QueueDisc>();
    disc->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, options.queue));
    if (auto fair = DynamicCast<FqCoDelQueueDisc>(disc))
    {
        fair->SetQuantum(1514); // else from the device, which it does not know
    }
    disc->Initialize();
    return disc;
}

/// The next packet to send. The trace of sojourn times would count those that are dropped on the way out, too.
Ptr<QueueDiscItem>
Take(Ptr<QueueDisc> disc)
{
    Ptr<QueueDiscItem> item = disc->Dequeue();
    if (item && Simulator::Now() >= Seconds(options.warmup))
    {
        departures += 1;
        waited += (Simulator::Now() - item->GetTimeStamp()).GetSeconds();
    }
    return item;
}

/// A queueing discipline as the queue of a device. Under the traffic control layer the device would have a queue of its
/// own, of one packet at least, whose delay the discipline does not see.
class DeviceQueue : public Queue<Packet>
{
  public:
    explicit DeviceQueue(Ptr<QueueDisc> disc)
        : m_disc(disc)
    {
    }

    bool Enqueue(Ptr<Packet> packet) override
    {
        Ptr<Packet> rest = packet->Copy();
        PppHeader ppp;
        Ipv4Header ip;
        TcpHeader tcp;
        rest->RemoveHeader(ppp);
        rest->RemoveHeader(ip);
        rest->RemoveHeader(tcp);
        return m_disc->Enqueue(Create<Item>(packet, tcp.GetDestinationPort()));
    }

    Ptr<Packet> Dequeue() override
    {
        Ptr<QueueDiscItem> item = Take(m_disc);
        return item ? item->GetPacket() : nullptr;
    }

    Ptr<Packet> Remove() override
    {
        return Dequeue();
    }

    Ptr<const Packet> Peek() const override
    {
        return nullptr;
    }

  private:
    Ptr<QueueDisc> m_disc;
};

void
RunTcp()
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + options.cc)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 26));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 26));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(options.delack));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));

    NodeContainer nodes;
    nodes.Create(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(options.rate)));
    link.SetChannelAttribute("Delay", TimeValue(Time(options.rtt) / 2));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("100000p"));
    NetDeviceContainer devices = link.Install(nodes);
    Ptr<QueueDisc> queue = MakeQueueDisc();
    DynamicCast<PointToPointNetDevice>(devices.Get(0))->SetQueue(CreateObject<DeviceQueue>(queue));

    InternetStackHelper internet;
    internet.Install(nodes);
    Ipv4AddressHelper address("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = address.Assign(devices);
    TrafficControlHelper().Uninstall(devices);

    std::vector<Ptr<PacketSink>> sinks;
    for (uint32_t i = 0; i < options.flows; ++i)
    {
        const uint16_t port = 5000 + i;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks.push_back(DynamicCast<PacketSink>(sink.Install(nodes.Get(1)).Get(0)));
        sinks.back()->SetStartTime(Seconds(0));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(1), port));
        source.SetAttribute("MaxBytes", UintegerValue(0));
        source.SetAttribute("SendSize", UintegerValue(1448));
        source.Install(nodes.Get(0)).Start(MilliSeconds(100 * i));
    }

    std::vector<uint64_t> before(options.flows, 0);
    Simulator::Schedule(Seconds(options.warmup), [&] {
        for (uint32_t i = 0; i < options.flows; ++i)
        {
            before[i] = sinks[i]->GetTotalRx();
        }
        queue->TraceConnectWithoutContext("Drop", Callback<void, Ptr<const QueueDiscItem>>(
            [](Ptr<const QueueDiscItem>) { drops += 1; }));
    });
    Simulator::Stop(Seconds(options.duration));
    Simulator::Run();

    const double seconds = options.duration - options.warmup;
    std::printf("{\"drops\":%llu,\"delay_ms\":%.4f,\"goodput_bps\":[",
                static_cast<unsigned long long>(drops), 1e3 * waited / departures);
    for (uint32_t i = 0; i < options.flows; ++i)
    {
        std::printf("%s%.1f", i ? "," : "", (sinks[i]->GetTotalRx() - before[i]) * 8 / seconds);
    }
    std::printf("]}\n");
}

/// Knuth's MMIX generator; the upper half counts.
uint64_t
Draw()
{
    static uint64_t state = 1;
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return state >> 32;
}

void
RunOpen()
{
    Ptr<QueueDisc> queue = MakeQueueDisc();
    std::vector<uint32_t> dropped;
    queue->TraceConnectWithoutContext("Drop", Callback<void, Ptr<const QueueDiscItem>>(
        [&dropped](Ptr<const QueueDiscItem> item) {
            dropped.push_back(DynamicCast<const Item>(item)->number);
        }));

    bool idle = true;
    std::function<void()> serve = [&] {
        Ptr<QueueDiscItem> item = Take(queue);
        idle = !item;
        if (item)
        {
            Simulator::Schedule(NanoSeconds(item->GetSize() * 8'000'000'000ULL / options.rate), serve);
        }
    };
    uint32_t number = 0;
    // Gaps are uniform in [0, twice the mean), such that packets of 1000 bytes on average make up the load.
    const uint64_t mean = 1000 * 8'000'000'000ULL * 100 / (options.rate * options.load);
    std::function<void()> arrive = [&] {
        // Flow i has i + 1 shares; sizes are such that hardly anything happens at the same instant.
        const uint64_t total = options.flows * (options.flows + 1) / 2;
        uint64_t share = Draw() % total;
        uint32_t flow = 0;
        while (share > flow)
        {
            share -= flow + 1;
            flow += 1;
        }
        const uint32_t size = Draw() % 2 ? 1469 : 531;
        queue->Enqueue(Create<Item>(Create<Packet>(size), flow, number));
        number += 1;
        if (idle)
        {
            serve();
        }
        Simulator::Schedule(NanoSeconds(Draw() * 2 * mean >> 32), arrive);
    };
    arrive();
    Simulator::Stop(Seconds(options.duration));
    Simulator::Run();
    std::printf("{\"packets\":%u,\"delay_ms\":%.4f,\"dropped\":[", number, 1e3 * waited / departures);
    for (size_t i = 0; i < dropped.size(); ++i)
    {
        std::printf("%s%u", i ? "," : "", dropped[i]);
    }
    std::printf("]}\n");
}

} // namespace

int
main(int argc, char* argv[])
{
    CommandLine cmd(__FILE__);
    cmd.AddValue("mode", "tcp or open", options.mode);
    cmd.AddValue("aqm", "CoDel or FqCoDel", options.aqm);
    cmd.AddValue("cc", "congestion control", options.cc);
    cmd.AddValue("rate", "bottleneck, bit/s", options.rate);
    cmd.AddValue("rtt", "round-trip propagation delay", options.rtt);
    cmd.AddValue("flows", "number of flows", options.flows);
    cmd.AddValue("queue", "limit, packets", options.queue);
    cmd.AddValue("delack", "segments per acknowledgement", options.delack);
    cmd.AddValue("warmup", "seconds", options.warmup);
    cmd.AddValue("duration", "seconds, warm-up included", options.duration);
    cmd.AddValue("load", "open mode: arrivals, percent of the rate", options.load);
    cmd.Parse(argc, argv);
    if (options.mode == "open")
    {
        RunOpen();
    }
    else
    {
        RunTcp();
    }
    Simulator::Destroy();
    return 0;
}
