#!/usr/bin/env python3
"""A wire between two network devices that is long and bad: every frame arrives late, and some never.

    lossy_wire.py DEVICE DEVICE DELAY_MS LOSS_PERCENT COUNTS

Runs where both devices are, until SIGTERM, and then writes to the file COUNTS how many frames it took and how many of them it lost.
A kernel's own means (tc's netem) are not in every kernel. Frames keep their header of what is left to offload (PACKET_VNET_HDR), so
that checksums which no device has computed yet stay valid.
"""
import heapq
import json
import random
import select
import signal
import socket
import sys
import time

PACKET_OUTGOING = 4
SOL_PACKET, PACKET_VNET_HDR = 263, 15
LARGEST = 1 << 17  # bytes of a frame that is not cut into segments yet


def open_device(name):
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # ETH_P_ALL
    end.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
    end.bind((name, 0))
    end.setblocking(False)
    return end


def main():
    first, second, delay, loss, counts = sys.argv[1:]
    other = {}
    other[open_device(first)] = open_device(second)
    for end, peer in list(other.items()):
        other[peer] = end
    chance = random.Random(1)
    under_way = []  # when it arrives, a number that keeps the order, where, the frame
    taken = lost = 0

    def stop(*_):
        with open(counts, "w", encoding="utf-8") as file:
            json.dump({"frames": taken, "lost": lost}, file)
        sys.exit(0)

    signal.signal(signal.SIGTERM, stop)
    while True:
        wait = max(0, under_way[0][0] - time.monotonic()) if under_way else None
        for end in select.select(list(other), [], [], wait)[0]:
            frame, address = end.recvfrom(LARGEST)
            if address[2] == PACKET_OUTGOING:
                continue  # one that this program sent
            taken += 1
            if chance.random() < float(loss) / 100:
                lost += 1
                continue
            heapq.heappush(under_way, (time.monotonic() + float(delay) / 1000, taken, other[end], frame))
        while under_way and under_way[0][0] <= time.monotonic():
            _, _, end, frame = heapq.heappop(under_way)
            try:
                end.send(frame)
            except BlockingIOError:
                lost += 1


if __name__ == "__main__":
    main()
