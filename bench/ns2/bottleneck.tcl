# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# TCP flows through one link between two nodes, with ns-2's Linux congestion control (Agent/TCP/Linux).
# Usage: ns bottleneck.tcl key=value ...   (keys and defaults below; rates in bit/s, times in seconds)
#   delack=0 acknowledges every packet; every=333 loses each 333rd data packet; param=beta:717,tcp_friendliness:0 sets parameters of the algorithm;
#   trace=FILE samples cwnd and ssthresh every `sample` seconds.
# Prints one JSON document, after the lines in which ns-2 echoes the choice of algorithm.

array set opt {
    cc cubic    flows 1      paths 1       rate 100e6   rtt 0.020    queue 167
    loss 0      every 0      seed 1       duration 100  warmup 0     start 0
    mss 1448    header 52    ack 52        delack 0.040 trace ""     sample 0.01  param ""
}
foreach arg $argv {
    if {![regexp {^([a-z]+)=(.*)$} $arg -> key value] || ![info exists opt($key)]} {
        puts stderr "bottleneck.tcl: '$arg': expected key=value with key one of [lsort [array names opt]]"
        exit 2
    }
    set opt($key) $value
}

ns-random $opt(seed)
remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]

# Segments of `mss` bytes in packets of `mss + header`; timestamps are echoed as RFC 7323 says.
Agent/TCP set useHeaders_ true
Agent/TCP set tcpip_base_hdr_size_ $opt(header)
Agent/TCP set packetSize_ $opt(mss)
Agent/TCP set window_ 1000000
Agent/TCP set maxburst_ 0
Agent/TCP set windowInit_ 10
Agent/TCP set timestamps_ true
Agent/TCP set ts_option_size_ 0
Agent/TCP set minrto_ 0.2
Agent/TCP set tcpTick_ 0.001
Agent/TCPSink set packetSize_ $opt(ack)
Agent/TCPSink set ts_echo_rfc1323_ true
Agent/TCPSink/Sack1 set maxSackBlocks_ 3
Agent/TCPSink/Sack1/DelAck set interval_ $opt(delack)

# One duplex link per path; flow i uses path i modulo `paths`.
for {set p 0} {$p < $opt(paths)} {incr p} {
    set left($p) [$ns node]
    set right($p) [$ns node]
    $ns duplex-link $left($p) $right($p) $opt(rate) [expr {$opt(rtt) / 2.0}] DropTail
    $ns queue-limit $left($p) $right($p) $opt(queue)
    $ns queue-limit $right($p) $left($p) 1000000
    if {$opt(loss) > 0} {
        set em [new ErrorModel]
        $em unit pkt
        $em set rate_ $opt(loss)
        set uniform [new RandomVariable/Uniform]
        $uniform use-rng [new RNG]
        $em ranvar $uniform
        $em drop-target [new Agent/Null]
        $ns link-lossmodel $em $left($p) $right($p)
    } elseif {$opt(every) > 0} {
        set em [new ErrorModel/Periodic]
        $em unit pkt
        $em set period_ $opt(every)
        $em drop-target [new Agent/Null]
        $ns link-lossmodel $em $left($p) $right($p)
    }
}

for {set i 0} {$i < $opt(flows)} {incr i} {
    set p [expr {$i % $opt(paths)}]
    set tcp($i) [new Agent/TCP/Linux]
    if {$opt(delack) > 0} {
        set sink($i) [new Agent/TCPSink/Sack1/DelAck]
    } else {
        set sink($i) [new Agent/TCPSink/Sack1]
    }
    $ns attach-agent $left($p) $tcp($i)
    $ns attach-agent $right($p) $sink($i)
    $ns connect $tcp($i) $sink($i)
    $tcp($i) set fid_ $i
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at $opt(start) "$tcp($i) select_ca $opt(cc)"
    foreach pair [split $opt(param) ,] {
        $ns at $opt(start) "$tcp($i) set_ca_param $opt(cc) [split $pair :]"
    }
    $ns at [expr {$opt(start) + 0.001 * $i}] "$ftp start"
}

# Counting starts after the warm-up.
proc mark {} {
    global tcp opt before cutsbefore timeoutsbefore
    for {set i 0} {$i < $opt(flows)} {incr i} {
        set before($i) [$tcp($i) set ack_]
        set cutsbefore($i) [$tcp($i) set ncwndcuts_]
        set timeoutsbefore($i) [$tcp($i) set nrexmit_]
    }
}

proc sample {} {
    global ns tcp opt trace
    for {set i 0} {$i < $opt(flows)} {incr i} {
        puts $trace "[$ns now]\t$i\t[$tcp($i) set cwnd_]\t[$tcp($i) set ssthresh_]"
    }
    $ns at [expr {[$ns now] + $opt(sample)}] sample
}

proc finish {} {
    global tcp opt before cutsbefore timeoutsbefore trace
    set window [expr {double($opt(duration) - $opt(warmup))}]
    set total 0
    set rows {}
    for {set i 0} {$i < $opt(flows)} {incr i} {
        set packets [expr {[$tcp($i) set ack_] - $before($i)}]
        incr total $packets
        lappend rows [format {{"packets":%d,"goodput_bps":%.1f,"cuts":%d,"timeouts":%d}} $packets \
            [expr {$packets * $opt(mss) * 8 / $window}] \
            [expr {[$tcp($i) set ncwndcuts_] - $cutsbefore($i)}] \
            [expr {[$tcp($i) set nrexmit_] - $timeoutsbefore($i)}]]
    }
    puts "{\"packets\":$total,\"seconds\":$window,\"flows\":\[[join $rows ,]\]}"
    if {$opt(trace) ne ""} { close $trace }
    exit 0
}

$ns at $opt(warmup) mark
if {$opt(trace) ne ""} {
    set trace [open $opt(trace) w]
    $ns at $opt(warmup) sample
}
$ns at $opt(duration) finish
$ns run
