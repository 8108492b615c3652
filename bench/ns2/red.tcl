# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A bottleneck with RED in ns-2. Usage: ns red.tcl key=value ...   (keys and defaults below)
#   load=0: TCP flows (Agent/TCP/Linux, every packet acknowledged); otherwise Poisson arrivals at that share of the rate.
# Prints one JSON document: drops and mean queue in packets, without the packet in transmission, after the warm-up.

array set opt { cc reno flows 4 rate 20e6 rtt 0.040 min 20 max 60 queue 1000 gentle true load 0
    duration 220 warmup 20 seed 1 }
foreach arg $argv {
    if {![regexp {^([a-z]+)=(.*)$} $arg -> key value] || ![info exists opt($key)]} {
        puts stderr "red.tcl: '$arg': expected key=value with key one of [lsort [array names opt]]"
        exit 2
    }
    set opt($key) $value
}
ns-random $opt(seed)
remove-all-packet-headers
add-packet-header IP TCP Flags RTP
set ns [new Simulator]

# The paper's algorithm: lengths in packets, drops spread uniformly, 1500 bytes to compute idle time.
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set q_weight_ 0.002
Queue/RED set thresh_ $opt(min)
Queue/RED set maxthresh_ $opt(max)
Queue/RED set linterm_ 10
Queue/RED set gentle_ $opt(gentle)
Queue/RED set wait_ false
Queue/RED set adaptive_ 0
Queue/RED set mean_pktsize_ 1500
Agent/TCP set useHeaders_ true
Agent/TCP set tcpip_base_hdr_size_ 52
Agent/TCP set packetSize_ 1448
Agent/TCP set window_ 1000000
Agent/TCP set maxburst_ 0
Agent/TCP set windowInit_ 10
Agent/TCP set timestamps_ true
Agent/TCP set ts_option_size_ 0
Agent/TCP set minrto_ 0.2
Agent/TCP set tcpTick_ 0.001
Agent/TCPSink set packetSize_ 52
Agent/TCPSink set ts_echo_rfc1323_ true
Agent/TCPSink/Sack1 set maxSackBlocks_ 3

set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right $opt(rate) [expr {$opt(rtt) / 2.0}] RED
$ns simplex-link $right $left $opt(rate) [expr {$opt(rtt) / 2.0}] DropTail
$ns queue-limit $left $right $opt(queue)
$ns queue-limit $right $left 1000000
set monitor [$ns monitor-queue $left $right ""]
set lengths [$monitor get-pkts-integrator]

for {set i 0} {$i < $opt(flows)} {incr i} {
    if {$opt(load) > 0} {
        set udp [new Agent/UDP]
        $udp set packetSize_ 1500
        set sink [new Agent/Null]
        $ns attach-agent $left $udp
        $ns attach-agent $right $sink
        $ns connect $udp $sink
        set source [new Application/Traffic/Exponential]
        # Bursts of one packet; the time that it takes at the source's rate is part of the gap.
        set gap [expr {$opt(flows) * 12000.0 / ($opt(rate) * $opt(load))}]
        $source set packetSize_ 1500
        $source set rate_ 1000e6
        $source set burst_time_ 0
        $source set idle_time_ [expr {$gap - 12000.0 / 1000e6}]
        $source attach-agent $udp
        $ns at 0 "$source start"
    } else {
        set tcp [new Agent/TCP/Linux]
        set sink [new Agent/TCPSink/Sack1]
        $ns attach-agent $left $tcp
        $ns attach-agent $right $sink
        $ns connect $tcp $sink
        set ftp [new Application/FTP]
        $ftp attach-agent $tcp
        $ns at 0 "$tcp select_ca $opt(cc)"
        $ns at [expr {0.1 * $i}] "$ftp start"
    }
}

$ns at $opt(warmup) {
    set drops [$monitor set pdrops_]
    set arrivals [$monitor set parrivals_]
    $lengths newpoint [$ns now] [$lengths set lasty_]
    set sum [$lengths set sum_]
}
$ns at $opt(duration) {
    $lengths newpoint [$ns now] [$lengths set lasty_]
    puts [format {{"drops":%d,"arrivals":%d,"mean_queue":%.4f}} [expr {[$monitor set pdrops_] - $drops}] \
        [expr {[$monitor set parrivals_] - $arrivals}] \
        [expr {([$lengths set sum_] - $sum) / ($opt(duration) - $opt(warmup))}]]
    exit 0
}
$ns run
